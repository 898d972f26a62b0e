/** The headers that every answer carries, set in one place. */

/** Answers about an actor are private; nothing that this service says is to be kept by a cache unless a route says so. */
export interface SecurityHeaders {
  readonly forData: Readonly<Record<string, string>>
  readonly forPages: Readonly<Record<string, string>>
}

const common = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'X-Frame-Options': 'DENY',
} as const

/** Data opened as a page runs nothing and loads nothing. */
const dataPolicy = "default-src 'none'; frame-ancestors 'none'"

/**
 * Browsers hold every redirect that follows a form to `form-action`.
 *
 * @param formTargets Where the answers to forms lead to besides this service; null for anywhere.
 */
export function pagePolicy(formTargets: readonly string[] | null): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    ...(formTargets === null ? [] : [["form-action 'self'", ...formTargets].join(' ')]),
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

export function securityHeaders(baseUrl: string): SecurityHeaders {
  const transport = baseUrl.startsWith('https:')
    ? { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }
    : {}
  return {
    forData: { ...common, ...transport, 'Content-Security-Policy': dataPolicy },
    forPages: {
      ...common,
      ...transport,
      'Content-Security-Policy': pagePolicy([]),
      'Cross-Origin-Opener-Policy': 'same-origin',
    },
  }
}
