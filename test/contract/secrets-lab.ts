export const SECRET = 'kx3vQ81nUzT5wEr7';

export const fill = (length: number): string => 'x'.repeat(length);

export const fail = (text: string, more: object = {}): never => {
  throw Object.assign(new Error(text), more);
};
