"""REST: the same verbs for workers and readers in any language, as routes to be mounted at `/v1`.

`app.rest_app` is all that is needed from outside. A request is parsed here, answered by the cache, and translated back;
errors are problem documents made from the one table of `spillcache.errors`.
"""
