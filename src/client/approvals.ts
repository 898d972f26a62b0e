/** The calls that wait for the owner's approval. */
import type { Json } from '../json/json.ts'
import { type RequestSender, pathOf } from './connection.ts'
import type { ChangeStream } from './live.ts'
import { Watched } from './watched.ts'

/** A call that needs the owner's approval, as the service sends it. @public */
export interface CallApproval {
  readonly id: string
  readonly state: 'waiting' | 'approved' | 'denied' | 'used'
  readonly peerid: string
  readonly client_id: string | null
  readonly kind: string
  readonly operation: string
  readonly title: string
  readonly description: string
  readonly arguments: Json
  /** The effect of the call in the words of the application. Lists have none. */
  readonly preview?: string
  readonly created_at: string
  readonly expires_at: string
}

/** The calls that wait for the owner’s approval. @public */
export interface CallApprovals {
  /** Returns the newest waiting calls. */
  list(): Promise<readonly CallApproval[]>
  /** Approves the call once, or denies it. */
  decide(id: string, isApproved: boolean): Promise<CallApproval>
  /** Calls `onList` with the waiting calls now and after each change. Returns the function that ends this. */
  live(onList: (approvals: readonly CallApproval[]) => void, onError?: (error: Error) => void): () => void
  /** The waiting calls with their state, for `useApprovals`. */
  readonly watched: Watched<readonly CallApproval[]>
}

export function callApprovals(connection: RequestSender, live: ChangeStream): CallApprovals {
  const list = async (): Promise<readonly CallApproval[]> => {
    const response = await connection.request('GET', '/approvals')
    return ((await response.json()) as { readonly approvals: readonly CallApproval[] }).approvals
  }
  const watched = new Watched(live, { concerns: ({ category }) => category === 'approvals', read: list })
  return {
    list,
    watched,
    live: (onList, onError) => watched.live(onList, onError),
    async decide(id, isApproved) {
      const response = await connection.request('PUT', `/approvals${pathOf([id])}`, { body: { approved: isApproved } })
      return (await response.json()) as CallApproval
    },
  }
}
