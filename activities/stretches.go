package activities

// MostStretches is the most stretches that a dream may have. About that many fit into the eight hours for which an
// interrupted dream waits by default, if it is resumed after five minutes of quiet and half the jitter (two and a
// half minutes). Each adds fifty to seventy history events, so the longest dream stays below five thousand events and
// two megabytes, while a server warns at ten thousand and ten.
const MostStretches = 64
