package dreamhttp_test

import (
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/roomhttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
)

// ofRoom bounds a page of a room.
var ofRoom = parameter{
	"limit", "How many at most.", object{"type": "integer", "minimum": 1, "maximum": room.MaxPage - 1, "default": 50},
}

func offset(name, says string) parameter {
	return parameter{name, says, object{"type": "integer", "minimum": 0}}
}

// roomOperations by method and path.
var roomOperations = map[string]note{
	"POST /v1/rooms": {
		id: "createRoom", summary: "Make a room", body: rooms.CreateRequest{},
		answers: map[int]any{http.StatusCreated: room.Room{}},
		note:    "The caller becomes its owner. The same room again changes nothing; 409 when somebody else has it.",
	},
	"GET /v1/rooms": {
		id: "listRooms", summary: "List rooms", answers: one(psyche.Page[room.Room]{}),
		note: "Those of which the caller is a member; to an owner of the deployment all.",
	},
	"GET /v1/rooms/{room}": {
		id: "getRoom", summary: "Read a room with its members", answers: one(rooms.View{}),
		note: "Of each agent it says whether it is awake, whether it dreams, and its level in this room.",
	},
	"POST /v1/rooms/{room}/members": {
		id: "joinRoom", summary: "Add a member, or change one", body: rooms.JoinRequest{}, answers: one(room.Member{}),
	},
	"DELETE /v1/rooms/{room}/members/{member}": {
		id: "leaveRoom", summary: "Remove a member", answers: map[int]any{http.StatusNoContent: nil},
		note: "To remove another than the caller needs role operator.",
	},
	"PUT /v1/rooms/{room}/subscriptions": {
		id: "subscribe", summary: "Let an agent see every post, or only those that name it",
		body: roomhttp.Subscription{}, answers: one(room.Member{}),
	},
	"POST /v1/rooms/{room}/posts": {
		id: "createPost", summary: "Say something in a room", body: rooms.PostRequest{},
		answers: map[int]any{http.StatusCreated: rooms.PostResult{}, http.StatusAccepted: rooms.PostResult{}},
		note: "It answers before the agents do. With as an operator speaks as an agent; " +
			"202 when that agent sleeps, and the post waits until it wakes.",
	},
	"GET /v1/rooms/{room}/posts": {
		id: "listPosts", summary: "Read what was said in a room", answers: one(psyche.Page[room.Post]{}),
		query: []parameter{
			{
				"from", "The order: the newest first, or the oldest.",
				object{"type": "string", "enum": []string{"newest", "oldest"}, "default": "newest"},
			},
			offset("after", "Only posts with a higher number."),
			{"before", "Only posts with a lower number.", object{"type": "integer", "minimum": 1}},
			{"thread", "Only this thread: the id of the post that it hangs on, such as hall/12.", word},
			{"limit", "How many at most.", object{"type": "integer", "minimum": 1, "maximum": room.MaxPage, "default": 50}},
		},
	},
	"GET /v1/rooms/{room}/posts/{offset}": {
		id: "getPost", summary: "Read a post", answers: one(room.Post{}),
	},
	"PATCH /v1/rooms/{room}/posts/{offset}": {
		id: "editPost", summary: "Replace the text of a post by its author",
		body: rooms.EditRequest{}, answers: one(rooms.PostResult{}),
		note: "409 when the post has a newer revision than the one that was read. " +
			"Agents that it calls, and did not call before, answer it.",
	},
	"DELETE /v1/rooms/{room}/posts/{offset}": {
		id: "deletePost", summary: "Empty a post, by its author or by an owner of the room", answers: one(room.Post{}),
		query: []parameter{{"as", "The agent whose post it is, which the caller operates.", word}},
		note:  "Its place is left. What waits because of it is dropped.",
	},
	"GET /v1/rooms/{room}/events": {
		id: "followRoom", summary: "Follow what happens in a room",
		answers: one(either{refTo("RoomEventList"), anyOf(refTo("RoomEvent"), refTo("Rewound"))}),
		query:   []parameter{offset("after", "Begin behind this number; 0 is the first."), ofRoom},
		note: "A page, or with Accept: text/event-stream server-sent events: id is the number of the event in its room, " +
			"event its type, data the schema RoomEvent. Who comes again with Last-Event-ID goes on behind it, and misses " +
			"nothing. A stream without after begins with what comes. It ends after an hour; resume it.",
	},
	"POST /v1/rooms/{room}/webhooks": {
		id: "addWebhook", summary: "Connect a room with a program elsewhere", body: webhooks.AddRequest{},
		answers: map[int]any{http.StatusCreated: webhooks.View{}},
		note: "With url what happens in the room is sent there; with sender it takes posts. The answer has the secret, " +
			"which is shown once. 409 when the name is in use.",
	},
	"GET /v1/rooms/{room}/webhooks": {
		id: "listWebhooks", summary: "List the webhooks of a room", answers: one(psyche.Page[webhooks.View]{}),
	},
	"DELETE /v1/rooms/{room}/webhooks/{webhook}": {
		id: "removeWebhook", summary: "Remove a webhook", answers: map[int]any{http.StatusNoContent: nil},
	},
	"POST /v1/rooms/{room}/webhooks/{webhook}/posts": {
		id: "receivePost", summary: "Post by a webhook", body: webhooks.IncomingPost{},
		answers: map[int]any{http.StatusCreated: roomhttp.Received{}},
		note: "It needs no key, but a signature in Oneiros-Timestamp and Oneiros-Signature. The same id again posts " +
			"nothing more; 409 when it had another content, 401 when the signature is wrong or older than five minutes.",
	},
	"GET /v1/agents/{agent}/dormancy": {
		id: "getDormancy", summary: "How reachable an agent is",
		note:    "In general first, which has no room, then by room. Nothing is listed for an agent that is active.",
		answers: one(psyche.Page[room.Dormancy]{}),
	},
	"PUT /v1/agents/{agent}/dormancy": {
		id: "setDormancy", summary: "Set how reachable an agent is", body: rooms.DormancyRequest{},
		answers: one(room.Dormancy{}), note: "The rooms concerned are told.",
	},
	"POST /v1/agents/{agent}/checkins": {
		id: "checkIn", summary: "Call an agent at a time to come, or again and again", body: rooms.CheckInRequest{},
		answers: map[int]any{http.StatusCreated: room.CheckIn{}},
		note: "It looks at the room, if one is named, and may say something there; mostly it stays silent. " +
			"The same name again sets nothing more; 409 when it belongs to another check-in, or when there are 20.",
	},
	"GET /v1/agents/{agent}/checkins": {
		id: "listCheckIns", summary: "When an agent is called at set times", answers: one(psyche.Page[room.CheckIn]{}),
	},
	"DELETE /v1/agents/{agent}/checkins/{name}": {
		id: "cancelCheckIn", summary: "Cancel a check-in", answers: map[int]any{http.StatusNoContent: nil},
		note: "A call that waits in the inbox already stays there.",
	},
	"POST /v1/agents/awaken": {
		id: "awakenAgents", summary: "End the dormancy of agents", body: rooms.AwakenRequest{},
		answers: one(rooms.Awoken{}),
		note: "Of those that are named, or of all that are dormant. It interrupts their dreams. " +
			"One that fails stops no other.",
	},
	"POST /v1/agents/{agent}/wake": {
		id: "callAgent", summary: "Call an agent and wait for what it says", body: rooms.CallRequest{},
		answers: one(rooms.CallResponse{}),
		note: "It wakes the agent, which may choose to be silent. 429 when it is called too often, " +
			"402 or 429 when no money is left.",
	},
	"GET /v1/agents/{agent}/inbox": {
		id: "getInbox", summary: "What waits for an agent, the oldest first", answers: one(psyche.Page[room.Item]{}),
		query: []parameter{offset("after", "The number of the last item of the page before."), ofRoom},
	},
	"GET /v1/agents/{agent}/held": {
		id: "listHeld", summary: "What a sleeping agent asked for and is done when it wakes",
		answers: one(psyche.Page[room.Action]{}),
		query:   []parameter{offset("after", "The number of the last action of the page before."), ofRoom},
	},
	"GET /v1/agents/{agent}/calls": {
		id: "listCalls", summary: "What became of the calls of an agent, the oldest first",
		answers: one(psyche.Page[room.Wake]{}),
		query:   []parameter{offset("after", "The number of the last record of the page before."), ofRoom},
		note:    "Each answer, silence, failure and skip, with its reason and its cost.",
	},
}

// operationOf describes a route.
func operationOf(method, path string) note {
	if n, ok := roomOperations[method+" "+path]; ok {
		return n
	}
	return operations[method+" "+path]
}
