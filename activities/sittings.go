package activities

// MostStretches is how often a dream may lie down. As many fit into the eight hours for which an interrupted dream
// waits by default, when it goes on after five minutes of quiet and half the jitter, two and a half: whoever is
// disturbed that often is not asleep, and the next dream begins with newer memories. Fifty to seventy events of a
// history go with each, so that the longest dream stays below five thousand events and two megabytes, where a server
// warns at ten thousand and ten.
const MostStretches = 64
