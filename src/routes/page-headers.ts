/** What every page for people is sent with: where its styles come from, and directives of its policy beside those of all. */
export const toPageHeaders = (styles: string, more: readonly string[] = []): Readonly<Record<string, string>> => ({
  'cache-control': 'no-cache',
  // Nothing from elsewhere, no form that leads away, no frame around it.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});
