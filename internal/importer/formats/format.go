package formats

// Format is a shape of file that can be read.
type Format string

// The formats.
const (
	JSONL   Format = "jsonl"   // our own: one item per line, as Export writes it
	Chat    Format = "chat"    // OpenAI-style chat JSONL: a conversation or a message per line
	ChatGPT Format = "chatgpt" // conversations.json of a ChatGPT data export
	Diary   Format = "diary"   // Markdown or plain text under dated headings
	LoCoMo  Format = "locomo"  // dialogues in the shape of the LoCoMo benchmark
)

// Formats in a fixed order.
var Formats = []Format{JSONL, Chat, ChatGPT, Diary, LoCoMo}

// The limits of one file.
const (
	MaxLine  = 16 << 20  // bytes of one line of JSONL
	MaxValue = 256 << 20 // bytes of one conversation in a JSON array
	MaxDiary = 64 << 20  // bytes of one diary
)
