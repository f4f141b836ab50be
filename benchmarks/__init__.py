"""Speed, side by side with the alternatives, as ratios measured in one run."""
