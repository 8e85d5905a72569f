"""Small requests beside the API, whose key and headers go to the server's own origin and nowhere else.

Owns: the session, and who gets credentials. Does not own: the requests. Floor 5. Source: RFC 6454 (an origin is a
scheme, a host and a port). Metrics may lie on another machine, which has no business with a key.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import aiohttp

from harness.transport.contract import TransportOptions


def session_beside(options: TransportOptions, *, total_s: float) -> aiohttp.ClientSession:
    """Make it inside a running loop. total_s: for one request, from its beginning to its end."""
    own = _origin(options.base_url)
    headers = dict(options.headers)
    if options.api_key is not None:
        headers["Authorization"] = f"Bearer {options.api_key}"

    async def known_here(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        # Asked for each hop of a redirection as well.
        if _origin(str(request.url)) == own:
            request.headers.update(headers)
        return await handler(request)

    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=total_s),
        trust_env=options.use_environment_proxies,
        middlewares=(known_here,),
    )


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
