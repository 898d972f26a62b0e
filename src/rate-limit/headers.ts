/** What an answer tells of a limit: the fields of draft-ietf-httpapi-ratelimit-headers-10. */
import type { Rate, BucketStanding } from './gcra.ts'

/** `q` is the quota, `w` its window, `r` what remains, `t` the seconds until all of it is there again. */
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
