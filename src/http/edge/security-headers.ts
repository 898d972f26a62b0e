/** The security headers of every response. */

/** Security headers for data and pages. Responses are private, so caches must not store them unless a route allows it. */
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

/** The CSP for data: opened in a browser, it runs and loads nothing. */
const dataPolicy = "default-src 'none'; frame-ancestors 'none'"

/**
 * Returns the CSP of a page. Browsers also apply `form-action` to the redirects after a form. Scripts and styles come from
 * the folder of assets alone, because other addresses of the service have what peers and programs stored.
 *
 * @param baseUrl Public URL of the service.
 * @param formTargets Allowed redirect targets of forms in addition to this service; null allows all.
 */
export function pagePolicy(baseUrl: string, formTargets: readonly string[] | null): string {
  const assets = assetSource(baseUrl)
  return [
    "default-src 'none'",
    `script-src ${assets}`,
    `style-src ${assets}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    ...(formTargets === null ? [] : [["form-action 'self'", ...formTargets].join(' ')]),
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** A CSP source cannot contain an IPv6 address, which only development uses. */
function assetSource(baseUrl: string): string {
  return new URL(baseUrl).hostname.startsWith('[') ? "'self'" : `${baseUrl}/assets/`
}

export function securityHeaders(baseUrl: string): SecurityHeaders {
  // Without includeSubDomains: other services below this host may have no https, and their operators did not choose it.
  const transport = baseUrl.startsWith('https:') ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}
  return {
    forData: { ...common, ...transport, 'Content-Security-Policy': dataPolicy },
    forPages: {
      ...common,
      ...transport,
      'Content-Security-Policy': pagePolicy(baseUrl, []),
      'Cross-Origin-Opener-Policy': 'same-origin',
    },
  }
}
