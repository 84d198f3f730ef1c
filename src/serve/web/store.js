// What the page knows, and who wants to hear when it changes.

/** A value that tells its listeners, once for all changes made in one go. */
export function store(initial) {
  const state = initial;
  const listeners = new Set();
  let due = false;
  return {
    state,
    /** Changes it. */
    change(how) {
      how(state);
      if (due) return;
      due = true;
      queueMicrotask(() => {
        due = false;
        listeners.forEach((listener) => listener(state));
      });
    },
    /** Calls `listener` now and after every change; gives a function that ends it. */
    watch(listener) {
      listeners.add(listener);
      listener(state);
      return () => listeners.delete(listener);
    },
  };
}
