package jsonscan

// Fields are members of an object by their names. Most objects have a few, which are found faster without a map.
type Fields struct {
	all    []Field
	places map[string]int // in all; nil while there are a few
}

// Field is a member of an object.
type Field struct {
	Name  string
	Value []byte
}

// few is how many members are searched one by one.
const few = 16

// Add adds a member. It reports false, and adds nothing, when there is one of that name.
func (f *Fields) Add(name string, value []byte) bool {
	if f.Find(name) != nil {
		return false
	}
	if f.all == nil {
		f.all = make([]Field, 0, few/2)
	}
	f.all = append(f.all, Field{name, value})
	switch {
	case f.places != nil:
		f.places[name] = len(f.all) - 1
	case len(f.all) > few:
		f.places = make(map[string]int, 2*few)
		for at, each := range f.all {
			f.places[each.Name] = at
		}
	}
	return true
}

// Find is the member of a name; nil when there is none.
func (f *Fields) Find(name string) *Field {
	if f.places != nil {
		if at, found := f.places[name]; found {
			return &f.all[at]
		}
		return nil
	}
	for i := range f.all {
		if f.all[i].Name == name {
			return &f.all[i]
		}
	}
	return nil
}
