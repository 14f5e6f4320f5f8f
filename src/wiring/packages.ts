/** The packages that the service loads, each at most once, and not before something asks for it. */
export const PACKAGES = {
  background: () => import('@recourse/background'),
} as const;
