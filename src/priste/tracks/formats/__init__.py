"""The formats that tracks come in, each read to a frame of fixes."""
