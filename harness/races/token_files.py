"""Tokens on disk: what is too long for a chat becomes a file, and a file stands for its token.

Owns: reading and writing them, and putting the file's name in the place of a long token. Does not own: tokens. Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernels.errors import EnvironmentProblem
from kernels.races.search.tokens import Token, TokenRefused

SUFFIX = ".token"


def read_token(argument: str) -> Token:
    """A token, or the token in the file of that name. Raises: TokenRefused for what is neither."""
    path = Path(argument)
    if argument.endswith(SUFFIX):
        try:
            return Token.parse(path.read_text(encoding="ascii"))
        except OSError as problem:
            raise TokenRefused(argument, f"the file cannot be read: {problem.strerror}") from None
        except UnicodeDecodeError:
            raise TokenRefused(argument, "this is no token file") from None
    return Token.parse(argument)


def write_long_tokens(tokens: Iterable[Token | None], folder: Path) -> dict[str, Path]:
    """Write the tokens that are not short. Returns: token -> its file, for those. Raises: EnvironmentProblem."""
    files: dict[str, Path] = {}
    for token in tokens:
        if token is None or token.is_short or str(token) in files:
            continue
        path = folder / f"{token.program_hash}-{len(files) + 1}{SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{token}\n", encoding="ascii")
        except OSError as problem:
            what = f"the token file {path} cannot be written: {problem.strerror}"
            raise EnvironmentProblem(what, remedy="give --out another folder") from problem
        files[str(token)] = path
    return files
