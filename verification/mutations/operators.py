"""Small changes to the text of a module: the operators of cosmic-ray, and one of our own."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.tree import Leaf

Position = tuple[tuple[int, int], tuple[int, int]]

_COMPARISONS = (
    "Lt_LtE Lt_Gt LtE_Lt LtE_GtE Gt_GtE Gt_Lt GtE_Gt GtE_LtE Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is"
)
_ARITHMETIC = (
    "Add_Sub Add_Mul Sub_Add Sub_Mul Mul_Add Mul_Div Div_Mul Pow_Mul Mod_FloorDiv FloorDiv_Div "
    "LShift_RShift RShift_LShift BitOr_BitAnd BitAnd_BitOr"
)
_OTHERS = (
    "ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_USub "
    "ReplaceUnaryOperator_Delete_Invert AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue "
    "ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue ReplaceContinueWithBreak "
    "ExceptionReplacer NumberReplacer ZeroIterationForLoop"
)
_SWAPPED = {
    "min": "max",
    "minimum": "maximum",
    "argmin": "argmax",
    "any": "all",
    "+=": "-=",
    "*=": "/=",
    "&=": "|=",
}
_OPPOSITES = {**_SWAPPED, **{there: here for here, there in _SWAPPED.items()}}

# what no test can or should notice
_UNTESTED = ("decorator", "raise_stmt", "fstring", "import_from", "import_name")
_CHECKS_OF_OURS = ("strict",)  # lengths that are equal unless there is a mistake elsewhere


class Mutant(NamedTuple):
    """A module with one small change, and the line before and after it."""

    module: str
    number: int
    line: str
    becomes: str
    source: str

    def __str__(self) -> str:
        return f"{self.module}:{self.number}: {self.line}  →  {self.becomes}"


class Opposite(Operator):  # type: ignore[misc]
    """Put the maximum for the minimum, all for any, and so on."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the place of a word that has an opposite."""
        if isinstance(node, Leaf) and node.value in _OPPOSITES:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002
        """Return the opposite."""
        node.value = _OPPOSITES[node.value]
        return node

    @classmethod
    def examples(cls) -> Iterable[Any]:
        """Return none; cosmic-ray asks for them in its own tests."""
        return ()


def operators() -> Iterator[Operator]:
    """Yield the operators that are applied."""
    known = OperatorProvider()
    names = [f"ReplaceComparisonOperator_{pair}" for pair in _COMPARISONS.split()]
    names += [f"ReplaceBinaryOperator_{pair}" for pair in _ARITHMETIC.split()]
    for name in names + _OTHERS.split():
        yield known[name]()
    yield Opposite()


def mutants(module: str, source: str) -> list[Mutant]:
    """Return every mutant of a module, in the order of its lines."""
    found: dict[str, Mutant] = {}
    nodes = list(ast_nodes(parso.parse(source)))
    for operator in operators():
        places = [(node, place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, (start, _)) in enumerate(places):
            if _is_untested(node):
                continue
            mutated = MutationVisitor.mutate_code(source, operator, occurrence)
            if mutated != source and mutated not in found:
                found[mutated] = _described(module, start[0], source, mutated)
    return sorted(found.values(), key=lambda mutant: mutant.number)


def _described(module: str, number: int, source: str, mutated: str) -> Mutant:
    before, after = source.splitlines(), mutated.splitlines()
    pairs = zip(before, after, strict=False)
    number = next((n for n, (one, other) in enumerate(pairs, start=1) if one != other), number)
    line, becomes = before[number - 1].strip(), after[number - 1].strip()
    if line in ("break", "continue"):  # say which
        condition = before[number - 2].strip()
        line, becomes = f"{condition} {line}", f"{condition} {becomes}"
    return Mutant(module, number, line, becomes, mutated)


def _is_untested(node: Any) -> bool:
    """Tell whether a node is part of an annotation, a decorator, a message or an import."""
    while node.parent is not None:
        inner, node = node, node.parent
        if node.type in _UNTESTED:
            return True
        if node.type == "argument" and node.children[0].get_code().strip() in _CHECKS_OF_OURS:
            return True
        if node.type == "annassign" and inner is node.children[1]:
            return True
        if node.type == "param" and inner is not node.default:
            return True
        if node.type == "parameters" and inner.type == "operator":  # the star before keywords
            return True
        if node.type in ("funcdef", "lambdef") and inner is getattr(node, "annotation", None):
            return True
    return False
