/** Operations that a caller requests, in the terms of rights. */
export type Category =
  | 'actor'
  | 'properties'
  | 'files'
  | 'resources'
  | 'methods'
  | 'actions'
  | 'tools'
  | 'prompts'
  | 'trust'
  | 'subscriptions'
  /** The copies of peers' data. */
  | 'remote'
  | 'callbacks'
  | 'permissions'
  | 'services'
  | 'activity'
  /** The content that changes replaced. */
  | 'history'
  /** Everything of the actor in one file. */
  | 'archive'
  /** Calls that need the owner's approval. */
  | 'approvals'
  /** URLs that receive the changes of the actor. */
  | 'webhooks'
  | 'www'
  /** The sessions of the owner. */
  | 'sessions'
  /** The API keys of the actor. */
  | 'keys'
  /** The links by which the owner approves relationships in advance. */
  | 'invitations'
  | 'devtest'

/** A right on a target. `append` only adds items to a list; `write` includes `append`. */
export type Right = 'read' | 'append' | 'write' | 'delete'

export interface Operation {
  readonly category: Category
  readonly right: Right
  /** The full name of the target: a property path (`settings/theme`), or a method or action. Empty for the category. */
  readonly target: string
  /** True to ask about any name that begins with the target. For descriptions only, never to grant access to data. */
  readonly isPrefix?: boolean
}
