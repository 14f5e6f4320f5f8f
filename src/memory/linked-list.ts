/** What stands in one list at a time, and is its own place in it. */
export type Linked<Node> = { previous: Node | null; next: Node | null };

/**
 * A list whose nodes come and go at any place in constant time, however long it is. Use it for what comes and goes with each request, and
 * not a Set: where a Set grows or is tidied, V8 leaves its old table behind, which refers to the new one and to what was in it. One such
 * table in the old generation keeps all that follow, with whole requests. Measured with 32 connections that wait for Redis: 20 % of all
 * that was allocated was kept, and scavenges took three times as long.
 */
export type LinkedNodes<Node> = { first: Node | null; last: Node | null; size: number };

/** An item in its place in a list. */
export type Link<Item> = { readonly item: Item; previous: Link<Item> | null; next: Link<Item> | null };

/** A list of items that may stand in several lists. */
export type LinkedList<Item> = LinkedNodes<Link<Item>>;

export const createLinkedList = <Item>(): LinkedList<Item> => ({ first: null, last: null, size: 0 });

/** Puts an item at the end; gives its place, by which it is removed. */
export const append = <Item>(list: LinkedList<Item>, item: Item): Link<Item> => {
  const link: Link<Item> = { item, previous: null, next: null };
  attach(list, link);
  return link;
};

/** Takes a node out of the list that it is in. */
export const remove = <Node extends Linked<Node>>(list: LinkedNodes<Node>, node: Node): void => {
  if (node.previous === null) list.first = node.next;
  else node.previous.next = node.next;
  if (node.next === null) list.last = node.previous;
  else node.next.previous = node.previous;
  node.previous = null;
  node.next = null;
  list.size -= 1;
};

export const moveToEnd = <Node extends Linked<Node>>(list: LinkedNodes<Node>, node: Node): void => {
  remove(list, node);
  attach(list, node);
};

/** Puts a node that is in no list at the end of this one. */
export const attach = <Node extends Linked<Node>>(list: LinkedNodes<Node>, node: Node): void => {
  node.previous = list.last;
  if (list.last === null) list.first = node;
  else list.last.next = node;
  list.last = node;
  list.size += 1;
};

/** The items as they are now, first to last: the list may change while they are gone through. */
export const toItems = <Item>(list: LinkedList<Item>): readonly Item[] => {
  const items: Item[] = [];
  for (let link = list.first; link !== null; link = link.next) items.push(link.item);
  return items;
};
