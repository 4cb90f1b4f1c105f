# cython: language_level=3
"""Traversals of pytrees: flattening, unflattening, and comparison of structures.

`registry` defines the kinds of containers. `treedef` passes them to `start`, and defines the other
methods of structures. Trees may be as deep as Python's recursion limit permits; deeper ones raise
RecursionError.
"""

cimport cython
from cpython.dict cimport PyDict_GetItem, PyDict_Next, PyDict_SetItem
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except -1
    void Py_LeaveRecursiveCall()
    PyObject *PyTuple_GET_ITEM(tuple, Py_ssize_t)  # borrowed

# The arguments of `start`.
cdef type _treedef = None
cdef dict _kinds = None
cdef set _leaf_types = None
cdef object _find_kind = None
cdef object _refusals = None
cdef object _tuple_kind = None
cdef object _list_kind = None
cdef object _dict_kind = None
cdef Structure _leaf = None
cdef Structure _none = None
cdef Structure _no_keywords = None

# (kind, data, number of leaves) or (kind, data, *ids of the children's structures) -> structure. The
# values keep the children alive, so the ids are not reused. When the table is full, it is emptied.
cdef dict _interned = {}
cdef enum:
    MAX_INTERNED = 4096
# kind -> the last interned structure of such a container, which the next one is likely to have.
cdef dict _last = {}


cdef class Structure:
    """A node of the structure of a pytree; `treedef.PyTreeDef` is the only subclass.

    Attributes:
      kind: the kind of the outermost container; None for a leaf.
      data: its static data (for dictionaries the keys, in order).
      subtrees: the structures of its children.
      num_leaves: the number of leaves.
      flat: whether all children are leaves.
      interned: whether an equal structure of interned parts is the same object.
    """

    cdef object __weakref__
    cdef readonly object kind
    cdef readonly object data
    cdef readonly tuple subtrees
    cdef readonly Py_ssize_t num_leaves
    cdef readonly bint flat
    cdef readonly bint interned
    cdef Py_hash_t _hash
    cdef bint _is_hashed

    def unflatten(self, leaves):
        """Returns the tree with this structure and `leaves`.

        Raises:
          ValueError: if there are too few or too many leaves.
        """
        cdef tuple given = tuple(leaves)
        cdef Py_ssize_t position = 0, got = len(given)
        if got != self.num_leaves:
            extent = "few" if got < self.num_leaves else "many"
            raise ValueError(
                f"tree_unflatten: a PyTreeDef of {self.num_leaves} leaves takes as many, but got {got}, "
                f"which is too {extent}"
            )
        if self.kind is None:
            return given[0]
        if self.flat:
            return _assembled(self.kind, self.data, given)
        return _build(self, given, &position)

    def flatten_up_to(self, tree):
        """Returns the subtrees of `tree` at this structure's leaves.

        Raises:
          ValueError: if this structure is not a prefix of the structure of `tree`.
        """
        cdef list out = []
        _flatten_up_to(self, tree, out)
        return out

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, Structure):
            return NotImplemented
        return _equal(self, <Structure>other)

    def __hash__(self):
        # The static data of registered classes are not hashed, as they need not be hashable.
        if not self._is_hashed:
            kind = self.kind
            keys = self.data if kind is not None and kind.data_is_keys else None
            self._hash = hash((kind, keys, self.subtrees))
            self._is_hashed = True
        return self._hash


def start(type treedef, dict kinds, set leaf_types, find_kind, refusals):
    """Sets the Python objects that traversals use, and returns the structure of a leaf.

    Args:
      treedef: the class of structures.
      kinds: type -> kind of container.
      leaf_types: types that are known to be leaves.
      find_kind: type -> its kind, or None.
      refusals: the module-like object whose functions raise errors: `type_`, `arity`, `data`,
        `comparison`, `keys`.
    """
    global _treedef, _kinds, _leaf_types, _find_kind, _refusals, _leaf, _none, _no_keywords
    global _tuple_kind, _list_kind, _dict_kind
    _treedef, _kinds, _leaf_types = treedef, kinds, leaf_types
    _find_kind, _refusals = find_kind, refusals
    _tuple_kind, _list_kind, _dict_kind = kinds[tuple], kinds[list], kinds[dict]
    _leaf = _new(None, None, (), False, True)
    _leaf.num_leaves = 1
    _none = make_node(kinds[type(None)], None, ())
    _no_keywords = make_node(kinds[dict], (), ())
    return _leaf


# --- making structures ----------------------------------------------------------------------------


cdef Structure _new(object kind, object data, tuple subtrees, bint flat, bint interned):
    cdef Structure self = Structure.__new__(_treedef)
    cdef Structure t
    self.kind = kind
    self.data = data
    self.subtrees = subtrees
    self.flat = flat
    self.interned = interned
    self.num_leaves = len(subtrees)
    if not flat:
        self.num_leaves = 0
        for t in subtrees:
            self.num_leaves += t.num_leaves
    return self


cdef bint _is_internable(object kind, object data):
    # Equal keys of different types (1 and True) would be confused, so only dictionaries with string
    # keys are interned.
    if data is None:
        return True
    if kind is not _dict_kind:
        return False
    for key in <tuple>data:
        if type(key) is not str:
            return False
    return True


cdef tuple _key(object kind, object data, tuple subtrees, bint flat):
    if flat:
        return (kind, data, len(subtrees))
    cdef list ids = [kind, data]
    for t in subtrees:
        ids.append(<size_t><PyObject *>t)
    return tuple(ids)


cpdef Structure make_node(object kind, object data, tuple subtrees):
    """Returns the structure of a container of kind `kind` with static data `data`."""
    cdef bint flat = True, interned = True
    cdef Structure t
    for t in subtrees:
        if t is not _leaf:
            flat = False
            interned = interned and t.interned
    if not (interned and _is_internable(kind, data)):
        return _new(kind, data, subtrees, flat, False)
    key = _key(kind, data, subtrees, flat)
    cdef PyObject *found = PyDict_GetItem(_interned, key)
    cdef Structure made
    if found != NULL:
        made = <Structure>found
    else:
        if len(_interned) >= MAX_INTERNED:
            _interned.clear()
            _last.clear()
        made = _new(kind, data, subtrees, flat, True)
        _interned[key] = made
    _last[kind] = made
    return made


# --- taking apart ---------------------------------------------------------------------------------


def flatten(tree):
    """Returns (leaves, structure) of `tree`."""
    cdef list leaves = []
    return leaves, _flatten(tree, leaves)


def flatten_until(tree, is_leaf):
    """Returns (leaves, structure) of `tree`; nodes for which `is_leaf` is true are leaves.

    Raises:
      ValueError: if `is_leaf` returns a value that is not a bool.
    """
    cdef list leaves = []
    return leaves, _flatten_until(tree, is_leaf, leaves)


def checked_pair(out):
    """Returns the result of a user's flattening function as (tuple of children, data).

    Raises:
      ValueError: if the result has another form.
    """
    if type(out) is not tuple or len(<tuple>out) != 2:
        raise ValueError(
            "The to_iterable function for a custom PyTree node should return a "
            f"(children, aux_data) tuple, got {out!r}"
        )
    children = (<tuple>out)[0]
    if type(children) is tuple:
        return out
    try:
        return tuple(children), (<tuple>out)[1]
    except TypeError:
        raise ValueError(
            "The to_iterable function for a custom PyTree node should return a (children, "
            f"aux_data) tuple where 'children' is iterable, got {out!r}"
        ) from None


cdef object _kind_of(object t):
    if t in _leaf_types:
        return None
    cdef PyObject *found = PyDict_GetItem(_kinds, t)
    return <object>found if found != NULL else _find_kind(t)


cdef tuple _children(object kind, object tree):
    """Returns (children as a tuple, static data)."""
    if kind is _tuple_kind:
        return tree, None
    if kind is _list_kind:
        return tuple(<list>tree), None
    if kind is _dict_kind:
        return _dict_children(<dict>tree)
    cdef object given = kind.given
    cdef object out = kind.flatten(tree) if given is None else given(tree)
    if type(out) is tuple and len(<tuple>out) == 2 and type((<tuple>out)[0]) is tuple:
        return <tuple>out
    return <tuple>checked_pair(out)


cdef tuple _dict_children(dict tree):
    cdef PyObject *last = PyDict_GetItem(_last, _dict_kind)
    cdef tuple children, known
    if last != NULL:
        known = <tuple>(<Structure>last).data  # the structure may be gone after the call
        children = _values(tree, known)
        if children is not None:
            return children, known
    cdef list keys = list(tree)
    try:
        keys.sort()
    except Exception as error:
        _refusals.keys(tree, error)
    return tuple([tree[key] for key in keys]), tuple(keys)


cdef tuple _values(dict tree, tuple keys):
    """Returns the values if the dictionary has exactly these keys in this order; otherwise None."""
    cdef Py_ssize_t position = 0, i = 0, n = len(keys)
    cdef PyObject *key
    cdef PyObject *value
    if len(tree) != n:
        return None
    # An allocation can trigger garbage collection, which may run code that changes the dictionary.
    # Therefore the dictionary is inspected after the allocation; no other code runs from then on.
    cdef tuple values = PyTuple_New(n)
    if len(tree) != n:
        return None
    while PyDict_Next(tree, &position, &key, &value):
        if key != PyTuple_GET_ITEM(keys, i):
            return None  # this frees the values, some of which are not set
        Py_INCREF(<object>value)
        PyTuple_SET_ITEM(values, i, <object>value)
        i += 1
    return values


cdef Structure _flatten(object tree, list leaves):
    cdef object t = type(tree)
    if t in _leaf_types:
        leaves.append(tree)
        return _leaf
    if tree is None:
        return _none
    if t is dict and not tree:  # the keywords of most calls
        return _no_keywords
    kind = _kind_of(t)
    if kind is None:
        leaves.append(tree)
        return _leaf
    cdef tuple pair, children
    cdef object data = None
    if t is tuple:
        children = <tuple>tree
    elif t is list:
        children = tuple(<list>tree)
    else:
        pair = _children(kind, tree)
        children = <tuple>pair[0]
        data = pair[1]
    cdef PyObject *last = PyDict_GetItem(_last, kind)
    cdef Structure likely = <Structure>last if last != NULL else _leaf
    cdef list others = None  # structures of children, from the first unexpected one on
    cdef Py_ssize_t i, n = len(children), m = len(likely.subtrees)
    cdef Structure found
    for i in range(n):
        child = children[i]
        if type(child) in _leaf_types:
            leaves.append(child)
            found = _leaf
        else:
            Py_EnterRecursiveCall(b" while a pytree was flattened")
            try:
                found = _flatten(child, leaves)
            finally:
                Py_LeaveRecursiveCall()
        if others is not None:
            others.append(found)
        elif i >= m or likely.subtrees[i] is not found:
            others = list(likely.subtrees[:i])
            others.append(found)
    if others is None:
        if likely.kind is kind and likely.data is data and n == m:
            return likely
        return make_node(kind, data, likely.subtrees[:n])
    return make_node(kind, data, tuple(others))


cdef Structure _flatten_until(object tree, object is_leaf, list leaves):
    verdict = is_leaf(tree)
    if verdict is not True and verdict is not False:
        raise ValueError(
            f"is_leaf predicate returned a non-boolean value {verdict!r}; expected a boolean"
        )
    kind = None if verdict is True else _kind_of(type(tree))
    if kind is None:
        leaves.append(tree)
        return _leaf
    children, data = _children(kind, tree)
    cdef list subtrees = []
    for child in <tuple>children:
        Py_EnterRecursiveCall(b" while a pytree was flattened")
        try:
            subtrees.append(_flatten_until(child, is_leaf, leaves))
        finally:
            Py_LeaveRecursiveCall()
    return make_node(kind, data, tuple(subtrees))


cdef int _flatten_up_to(Structure prefix, object tree, list out) except -1:
    kind = prefix.kind
    if kind is None:
        out.append(tree)
        return 0
    if type(tree) is not kind.type:
        _refusals.type_(kind, tree)
    children, data = _children(kind, tree)
    if data is not prefix.data and data != prefix.data:
        _refusals.data(kind, prefix.data, data, tree)
    if len(<tuple>children) != len(prefix.subtrees):
        _refusals.arity(kind, len(<tuple>children), len(prefix.subtrees), tree)
    if prefix.flat:
        out.extend(<tuple>children)
        return 0
    cdef Py_ssize_t i
    for i in range(len(prefix.subtrees)):
        t = prefix.subtrees[i]
        if t is _leaf:
            out.append((<tuple>children)[i])
            continue
        Py_EnterRecursiveCall(b" while a pytree was flattened")
        try:
            _flatten_up_to(<Structure>t, (<tuple>children)[i], out)
        finally:
            Py_LeaveRecursiveCall()
    return 0


# --- putting together -----------------------------------------------------------------------------


cdef object _assembled(object kind, object data, tuple children):
    if kind is _tuple_kind:
        return children
    if kind is _list_kind:
        return list(children)
    if kind is _dict_kind:
        return _dict(<tuple>data, children)
    return kind.unflatten(data, children)


cdef dict _dict(tuple keys, tuple values):
    cdef dict made = {}
    cdef Py_ssize_t i
    for i in range(len(keys)):
        PyDict_SetItem(made, keys[i], values[i])
    return made


cdef object _build(Structure tree, tuple leaves, Py_ssize_t *position):
    """Returns the tree of the next leaves; the structure is neither a leaf nor flat."""
    cdef list parts = []
    cdef Structure t
    cdef Py_ssize_t first
    for t in tree.subtrees:
        if t is _leaf:
            parts.append(leaves[position[0]])
            position[0] += 1
        elif t.flat:
            first = position[0]
            position[0] += t.num_leaves
            parts.append(_assembled(t.kind, t.data, leaves[first : position[0]]))
        else:
            Py_EnterRecursiveCall(b" while a pytree was put together")
            try:
                parts.append(_build(t, leaves, position))
            finally:
                Py_LeaveRecursiveCall()
    return _assembled(tree.kind, tree.data, tuple(parts))


# --- comparing ------------------------------------------------------------------------------------


cdef bint _equal(Structure x, Structure y) except -1:
    if x is y:
        return True
    cdef Py_ssize_t i, n = len(x.subtrees)
    if x.kind is not y.kind or x.num_leaves != y.num_leaves or n != len(y.subtrees):
        return False
    cdef bint same = False
    if x.data is not y.data:
        try:
            same = x.data == y.data
        except Exception as error:
            _refusals.comparison(x.kind, error)
        if not same:
            return False
    for i in range(n):
        if x.subtrees[i] is y.subtrees[i]:
            continue
        Py_EnterRecursiveCall(b" while structures of pytrees were compared")
        try:
            if not _equal(<Structure>x.subtrees[i], <Structure>y.subtrees[i]):
                return False
        finally:
            Py_LeaveRecursiveCall()
    return True
