/** The rate-limit headers of a response (draft-ietf-httpapi-ratelimit-headers-10). */
import type { Rate, BucketStanding } from './gcra.ts'

/** `q` is the quota, `w` its window, `r` the remaining quota, `t` the seconds until the quota is full again. */
export function rateLimitHeaders(
  name: string,
  { count, seconds }: Rate,
  { remaining, resetSeconds }: Pick<BucketStanding, 'remaining' | 'resetSeconds'>,
): Readonly<Record<string, string>> {
  return {
    'RateLimit-Policy': `"${name}";q=${count};w=${seconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  }
}
