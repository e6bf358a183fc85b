package sqlitestore

// SocketDir is the folder of a file's sockets, for tests that look into it.
var SocketDir = socketDir
