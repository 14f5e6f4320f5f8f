/** What every key and channel in Redis begins with. Version 0.1 had `recourse`: the two know nothing of each other. */
export const KEY_PREFIX = 'recourse2';
