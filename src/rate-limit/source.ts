/** Senders behind a proxy that the configuration does not name. */
import type { Rate } from './gcra.ts'

/** Requests of one connection may have this many times the limit of one sender, when they come from a proxy. */
const sharedFactor = 20

/**
 * Returns whose buckets a sender takes from. A sender behind an unknown proxy has its own bucket, so that it does not lock
 * out others. The connection has a larger one, because a client without a proxy can name any number of senders.
 */
export function sourceBuckets(source: string, rate: Rate): readonly { readonly of: string; readonly rate: Rate }[] {
  const [, connection] = source.split(' via ')
  const shared = { of: `shared ${connection}`, rate: { ...rate, count: rate.count * sharedFactor } }
  return [{ of: source, rate }, ...(connection === undefined ? [] : [shared])]
}
