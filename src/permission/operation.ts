/** What somebody wants to do, in the words that rights are granted in. */
export type Category =
  | 'actor'
  | 'properties'
  | 'resources'
  | 'methods'
  | 'actions'
  | 'tools'
  | 'prompts'
  | 'trust'
  | 'subscriptions'
  | 'callbacks'
  | 'permissions'
  | 'services'
  | 'activity'
  /** Calls that need the owner's approval. */
  | 'approvals'
  | 'www'
  /** Where the owner is signed in. */
  | 'sessions'
  | 'devtest'

/** `append` adds an item to a list and does nothing else; whoever may `write` may `append`. */
export type Right = 'read' | 'append' | 'write' | 'delete'

export interface Operation {
  readonly category: Category
  readonly right: Right
  /** The full name of what is touched: property path (`settings/theme`), method or action name; empty for the whole category. */
  readonly target: string
  /** Asks whether anything may be touched that begins with the target: for saying what is followed, never for giving it. */
  readonly isPrefix?: boolean
}
