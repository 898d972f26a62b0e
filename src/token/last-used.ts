/** Records when a session was last used. */
import { LastUse } from '../auth/last-use.ts'
import type { Chain } from './chain.ts'
import { touchChain } from './token-store.ts'

export class Uses extends LastUse {
  note({ actorId, chainId, lastUsedAt }: Pick<Chain, 'actorId' | 'chainId' | 'lastUsedAt'>): void {
    this.touch({
      key: chainId,
      lastAt: lastUsedAt,
      write: (tx, now, before) => touchChain(tx, actorId, chainId, now, before),
      failure: 'Cannot store when a session was last used',
    })
  }
}
