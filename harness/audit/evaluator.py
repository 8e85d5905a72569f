"""Works out what a Python function would return, from its text alone: nothing is imported and nothing is run.

Owns: the few statements and expressions that arithmetic is written in. Does not own: whose source it is, what its
unknowns stand for (`sglang_formula`). Floor 5. Source: ours.

What is not in the list below is refused with its place, so a formula that changes its shape is never misread.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
    }
)
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Is: operator.is_,
        ast.IsNot: operator.is_not,
        ast.In: lambda left, right: left in right,
        ast.NotIn: lambda left, right: left not in right,
    }
)
_BUILTINS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"len": len, "sum": sum, "int": int, "max": max, "min": min}
)
_OF_DICTS = frozenset({"get", "items", "values"})
_SILENT = (ast.Assert, ast.Import, ast.ImportFrom, ast.Expr, ast.Pass)
_DEPTH_MAX = 40


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a source. name: with its class in front, where it has one."""

    name: str
    file: str
    node: ast.FunctionDef

    @property
    def place(self) -> str:
        return f"{self.file}:{self.node.lineno} {self.name}"


class UnreadableError(Exception):
    """An expression or statement that is not arithmetic over what is known."""

    def __init__(self, function: Function, node: ast.AST) -> None:
        self.place = f"{function.file}:{getattr(node, 'lineno', function.node.lineno)} {function.name}"
        text = ast.unparse(node).splitlines()[0]
        super().__init__(f"{self.place}: '{text[:100]}'")


@dataclass(slots=True)
class Evaluator:
    """Evaluates methods of one class and functions beside it.

    attributes: values of `self.NAME`. first: what `__init__` assigns to those that are not there, as written.
    answers: values by the text of an expression: `_is_hip`, `get_exec().backend`, or a function by its name.
    visited: the functions that were entered, in the order of their first entry.
    """

    methods: Mapping[str, Function]
    functions: Mapping[str, Function]
    attributes: Mapping[str, Any]
    answers: Mapping[str, Any]
    first: Mapping[str, tuple[Function, ast.expr]] = field(default_factory=dict)
    visited: dict[str, Function] = field(default_factory=dict)
    _depth: int = 0

    def method(self, name: str, *arguments: Any) -> Any:
        """What `self.name(*arguments)` returns. Raises: UnreadableError with the place."""
        return self._call(self.methods[name], (None, *arguments), {})

    def _call(self, function: Function, values: Sequence[Any], named: Mapping[str, Any]) -> Any:
        self.visited.setdefault(function.place, function)
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise UnreadableError(function, function.node)
        parameters = function.node.args
        names = [parameter.arg for parameter in (*parameters.args, *parameters.kwonlyargs)]
        known: dict[str, Any] = {}
        for name, default in zip(reversed(parameters.args), reversed(parameters.defaults), strict=False):
            known[name.arg] = _Frame(self, function, {}).value(default)
        known.update(zip(names, values, strict=False))
        known.update(named)
        result = _Frame(self, function, known).run(function.node.body)
        self._depth -= 1
        return result.value if isinstance(result, _Returned) else None


@dataclass(frozen=True, slots=True)
class _Returned:
    value: Any


@dataclass(frozen=True, slots=True)
class _Frame:
    """One function under way, with its local names."""

    owner: Evaluator
    function: Function
    names: dict[str, Any]

    def run(self, body: Sequence[ast.stmt]) -> _Returned | None:
        for statement in body:
            if isinstance(statement, ast.Return):
                return _Returned(None if statement.value is None else self.value(statement.value))
            if isinstance(statement, ast.If):
                done = self.run(statement.body if self.value(statement.test) else statement.orelse)
                if done is not None:
                    return done
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._bind(statement.targets[0], self.value(statement.value))
            elif not isinstance(statement, _SILENT):
                raise UnreadableError(self.function, statement)
        return None

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and len(target.elts) == len(value):
            for part, each in zip(target.elts, value, strict=True):
                self._bind(part, each)
        else:
            raise UnreadableError(self.function, target)

    def value(self, node: ast.expr) -> Any:
        """An expression's value."""
        text = ast.unparse(node)
        if text in self.owner.answers:
            return self.owner.answers[text]
        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _BINARY:
                return _BINARY[type(kind)](self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.value(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.BoolOp(op=word, values=values):
                return self._bool(word, values)
            case ast.Compare(left=left, ops=[kind], comparators=[right]) if type(kind) in _COMPARISONS:
                return _COMPARISONS[type(kind)](self.value(left), self.value(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body) if self.value(test) else self.value(orelse)
            case ast.Tuple(elts=elements):
                return tuple(self.value(element) for element in elements)
            case ast.JoinedStr():
                return text  # Words for a log: no figure is made of them.
            case ast.GeneratorExp(elt=element, generators=[one]):
                return list(self._generated(element, one))
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._attribute(node, name)
            case ast.Call():
                return self._called(node)
        raise UnreadableError(self.function, node)

    def _bool(self, word: ast.boolop, values: Sequence[ast.expr]) -> Any:
        stops_at = isinstance(word, ast.Or)
        found: Any = not stops_at
        for each in values:
            found = self.value(each)
            if bool(found) is stops_at:
                break
        return found

    def _generated(self, element: ast.expr, one: ast.comprehension) -> Iterator[Any]:
        for item in self.value(one.iter):
            inner = _Frame(self.owner, self.function, dict(self.names))
            inner._bind(one.target, item)
            if all(inner.value(condition) for condition in one.ifs):
                yield inner.value(element)

    def _attribute(self, node: ast.expr, name: str) -> Any:
        if name in self.owner.attributes:
            return self.owner.attributes[name]
        if name not in self.owner.first:
            raise UnreadableError(self.function, node)
        function, expression = self.owner.first[name]
        return _Frame(self.owner, function, {}).value(expression)

    def _called(self, node: ast.Call) -> Any:
        values = [self.value(each) for each in node.args]
        named = {each.arg: self.value(each.value) for each in node.keywords if each.arg is not None}
        match node.func:
            case ast.Name(id=name) if name in self.owner.answers:
                return self.owner.answers[name](*values, **named)
            case ast.Name(id=name) if name in self.owner.functions:
                return self.owner._call(self.owner.functions[name], values, named)
            case ast.Name(id=name) if name in _BUILTINS:
                return _BUILTINS[name](*values)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.owner.methods:
                return self.owner._call(self.owner.methods[name], (None, *values), named)
            case ast.Attribute(value=base, attr=name):
                found = self.value(base)
                if isinstance(found, dict) and name in _OF_DICTS:
                    return getattr(found, name)(*values)
                if name in getattr(found, "readable", ()):
                    return getattr(found, name)(*values)
        raise UnreadableError(self.function, node)
