// Package answers records every answer of a model in a file, gives recorded answers again without a call, and holds all
// calls of the file under one cap.
//
// A comparison of several arms makes the same requests many times: when it was interrupted and begins anew, when it is
// repeated, and wherever two arms ask the same. Each of them is paid once. Log.Model wraps a model; what it generates
// and embeds is then read from the file where it stands there, and otherwise bought and recorded.
//
// # Which answer a request gets
//
// A request is known by a hash of all that decides its answer: the model as its provider knows it, what that model
// accepts, messages, sampling with its seed, limits, stop words, schema, log-probabilities, steering. Its idempotency
// key and IdleToken do not count. The n-th identical request of one Model gets the n-th recorded answer, so that an arm
// that asks twice sees two draws. A call that failed or was cut gives its number back to the next attempt.
//
// Arms share answers: each arm takes a Model of its own, which counts from the first answer again. Where two arms make
// the same request they see the same draw. Each arm alone still sees what the model would have said, so that every
// arm's mean is right; but arms are not independent of each other, and a comparison must be made pair by pair. That is
// the method of common random numbers: differences between arms come from what the arms do and not from luck, and cost
// less.
//
// Vectors are recorded text by text: a text that a model embedded once is never paid again, whatever batch it came in.
//
// # Money
//
// Before a call its worst case is written to the file and on disk; after it, its real cost together with its answer
// (spend.BillFor decides, as for every paid call). A reservation without an end, as after SIGKILL, counts in full for
// ever. A call that does not fit under the cap fails with inference.NoMoney, which wraps a *spend.OverCap, and nothing
// is sent: a dream ends there as at any other cap. The file counts money over all openings; only the cap is given anew
// with each.
//
// # The file
//
// One JSON object a line: a header, then reserve, answer, vector and end, only ever appended. Each line ends with a
// CRC-32C over it and all lines before it, so that a changed, lost or exchanged line is found. A last line without its
// line feed was torn by a kill and is cut off. The file holds texts of answers, not of requests; it is readable by its
// owner alone. One process at a time has it open.
package answers
