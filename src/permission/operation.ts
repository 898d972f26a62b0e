/** Operations that a caller requests, in the terms of rights. */
export type Category = CoreCategory | FeatureCategory

export type CoreCategory =
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
  | 'www'
  /** The sessions of the owner. */
  | 'sessions'
  /** The API keys of the actor. */
  | 'keys'
  /** The links by which the owner approves relationships in advance. */
  | 'devtest'

/** The category of a feature, such as `feature/bookmarks`. Only the owner has rights to it. */
export type FeatureCategory = `${typeof ofFeature}${string}`

const ofFeature = 'feature/'

export function isOfFeature(category: Category): category is FeatureCategory {
  return category.startsWith(ofFeature)
}

/** The name of a category in messages. */
export function categoryName(category: Category): string {
  return isOfFeature(category) ? category.slice(ofFeature.length) : category
}

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
