import { GuardedClient } from '../peer/guarded-client.ts'
import { ObservedClient } from '../peer/observed-client.ts'
import type { FindMovedPeer, Followed, KnownHome } from '../peer/moved-peer.ts'
import { OwnAddresses } from '../peer/own-addresses.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { peerTimes } from '../peer/timeouts.ts'
import { release } from '../release.ts'
import type { Runtime } from '../runtime.ts'
import type { Deliveries } from './deliveries.ts'
import { Notices } from './notices.ts'

interface OutboxNeeds {
  readonly deliveries: Deliveries
  /** Client for calls to other actors. Default: the guarded client over the network. */
  readonly client?: PeerClient | undefined
  /** Follows the signed notices of a home. */
  readonly followMoves: (
    deps: { readonly client: PeerClient; readonly now: () => number },
    known: KnownHome,
    to: null,
  ) => Promise<Followed>
}

export type Outbox = ReturnType<typeof createOutbox>

export function createOutbox(runtime: Runtime, { deliveries, client, followMoves }: OutboxNeeds) {
  const { baseUrl, config, keyRing, now, store, timers, tracing, metrics } = runtime
  const timeouts = { connectSeconds: config.peerConnectSeconds, readSeconds: config.peerReadSeconds }
  const { allowPrivatePeers, allowHttp } = config
  const outsideClient = client ?? new GuardedClient({ allowPrivatePeers, allowHttp, ...timeouts, release })
  const { readSeconds } = timeouts
  const baseUrls = [baseUrl, ...config.formerBaseUrls]
  const ownAddresses =
    client === undefined ? new OwnAddresses({ client: outsideClient, baseUrls, timers, readSeconds }) : null
  const peerClient = new ObservedClient(ownAddresses ?? outsideClient, tracing, metrics)
  const findMovedPeer: FindMovedPeer = (known) => followMoves({ client: peerClient, now }, known, null)
  return {
    /** Null with another client, which then receives every call. */
    ownAddresses,
    /** For third-party services. They receive no trace context, because they are not part of the trace. */
    outsideClient,
    peerClient,
    findMovedPeer,
    times: peerTimes(timeouts),
    notices: new Notices({ keyRing, now, afterCommit: store.afterCommit, ...deliveries }),
  }
}
