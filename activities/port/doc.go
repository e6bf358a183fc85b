// Package port is the folder of what another module implements or names to run dreams with its own parts. It holds no
// code itself.
//
// Implement these; each has a contract suite, a package of exported tests, that says by running whether you did:
//
//	memory.DreamStore   agents, items, vectors, slots and notes   memorytest.RunDreams
//	presence.Store      leases and epochs, in the same store      presencetest.Run
//	presence.WakeBus    notices that stop a running dream         presencetest.RunWakeBus; presence.LocalBus is one
//	spend.Ledger        reservations and caps                     spendtest.RunLedger
//	inference.Model     text and vectors                          inferencetest.Run
//
// These are optional: fabric.Log (fabrictest.Run) for programs that read events, memory.Feeds (memorytest.RunFeeds) for
// feeds, memory.EmbedQueue (memorytest.RunEmbedJobs) for embedding in the background, and memory.Store (memorytest.Run)
// for everything that the server and the command line of this module can do. room.Store keeps rooms (roomtest.Run).
//
// The values that cross the ports are in budget, dormancy, dream, event, mood and rank. Package rule names the types of
// rules that workers, starter and activities expose. docs/extending.md shows a whole program.
//
// # Stability
//
// From 0.1.0 to 1.0 a minor version may
//
//   - add a method to memory.Store, memory.EmbedQueue and memory.Talks, which programs call and few implement;
//   - add a method to memory.DreamStore, presence.Store, spend.Ledger or fabric.Log. A store that lacks it does not
//     compile, and the suite of that version has tests for it;
//   - add a field to any struct. Its zero value keeps what was before, so name the fields of literals;
//   - add a clause to a suite where a promise of the comments was not tested. A store that fails it was wrong before.
//
// It does not remove or rename a method, change what an existing one promises, or change the JSON that a store keeps of
// items, events and notes without reading the former one. inference.Model and presence.WakeBus keep their two methods.
// The aliases of package rule change with the rules behind them. From 1.0 on, interfaces that others implement gain
// methods only in a new major version; a new capability comes as an interface of its own.
//
// To find out whether a new version asks for more: build, then run the suites.
package port
