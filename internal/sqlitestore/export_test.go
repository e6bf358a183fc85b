package sqlitestore

// Belfry is the folder of a file's sockets, for tests that look into it.
var Belfry = belfry
