/** An item in its place in a list. */
export type Link<Item> = { readonly item: Item; previous: Link<Item> | null; next: Link<Item> | null };

/** A list whose items come and go at any place in constant time, however long it is. */
export type LinkedList<Item> = { first: Link<Item> | null; last: Link<Item> | null; size: number };

export const createLinkedList = <Item>(): LinkedList<Item> => ({ first: null, last: null, size: 0 });

/** Puts an item at the end; gives its place, by which it is removed. */
export const append = <Item>(list: LinkedList<Item>, item: Item): Link<Item> => {
  const link: Link<Item> = { item, previous: null, next: null };
  attach(list, link);
  return link;
};

/** Takes an item out of the list that it is in. */
export const remove = <Item>(list: LinkedList<Item>, link: Link<Item>): void => {
  if (link.previous === null) list.first = link.next;
  else link.previous.next = link.next;
  if (link.next === null) list.last = link.previous;
  else link.next.previous = link.previous;
  link.previous = null;
  link.next = null;
  list.size -= 1;
};

export const moveToEnd = <Item>(list: LinkedList<Item>, link: Link<Item>): void => {
  remove(list, link);
  attach(list, link);
};

const attach = <Item>(list: LinkedList<Item>, link: Link<Item>): void => {
  link.previous = list.last;
  if (list.last === null) list.first = link;
  else list.last.next = link;
  list.last = link;
  list.size += 1;
};
