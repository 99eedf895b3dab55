"""The compact view: the payload's own JSON text, in which lists of samples and labels are written shorter.

```
{cpu=0,mode=idle}          labels: {"cpu":"0","mode":"idle"}; what is no bare word stays a JSON string
<t+s: a b*3 c; u: d>       a list of samples: [[t,"a"],[t+s,"b"],[t+2s,"b"],[t+3s,"b"],[t+4s,"c"],[u,"d"]]
<t v>                      the sample of an instant vector: [t,"v"]; = stands for the time of the one right before
<t+s*n>                    a column of times of a data frame: n of them, each s after the one before
```

All other text is the payload's, byte for byte. `=` is written only where nothing but names, strings, labels and their
punctuation lies between the two samples. Outside strings JSON knows neither `<` nor a bare word in braces, and what is
not known to be JSON has no compact view, so nothing is ambiguous, and `expand` gives back every value in its order.
Numbers are never rounded: they are spelled as in the payload. A list that one page breaks off goes on at the beginning
of the next, in `<…>` of its own.

`samples` writes what is shorter, `filling` fills a page with it, `pages` says what the page is, `expanding` reads it
back. Labels in short are those of `series.labels`, which are shown beside the data as well.
"""

from __future__ import annotations

from spillcache.compact.expanding import expand
from spillcache.compact.filling import CompactText, has_series, write_compact
from spillcache.compact.pages import make_compact_page

__all__ = ["CompactText", "expand", "has_series", "make_compact_page", "write_compact"]
