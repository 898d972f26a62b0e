/**
 * Actors that listen to each other, with handlers that answer every change with another, would go on for ever. So each
 * change says how many changes led to it, and handlers are not told of one that has come too far. The data itself goes no
 * rounds: copies are not published.
 */

/** Beyond the protocol: a service that does not know it breaks no loop, and starts none. */
export const hopsHeader = 'X-ActingWeb-Hops'

/** More than people arrange between actors, and few enough to end soon. */
const mostHops = 16

/** What a callback's own context counts: the change that it tells of, and those before it. */
export function hopsAfter(header: string | undefined): number {
  return (/^\d{1,6}$/.test(header ?? '') ? Number(header) : 0) + 1
}

export function isLoop(hops = 0): boolean {
  return hops > mostHops
}
