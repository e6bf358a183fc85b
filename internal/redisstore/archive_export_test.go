package redisstore

// Lasting says whether an archive hands a key over.
func Lasting(s *Store, key string) bool { return s.lasting(key) }
