/**
 * Actors that subscribe to each other, with handlers that react to each change by another change, would loop forever. Each
 * change therefore counts the changes that led to it, and handlers are not called above the limit. The data itself does not
 * loop, because copies are not published.
 */

/** An extension of the protocol. Services that do not know the header ignore it. */
export const hopsHeader = 'X-ActingWeb-Hops'

/** Higher than any intended chain of actors, and low enough to end a loop soon. */
const maxHops = 16

/** Hop count for the handling of a callback: its change and the ones before. */
export function hopsAfter(header: string | undefined): number {
  return (/^\d{1,6}$/.test(header ?? '') ? Number(header) : 0) + 1
}

export function isLoop(hops = 0): boolean {
  return hops > maxHops
}
