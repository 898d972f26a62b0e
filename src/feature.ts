/**
 * `troupe/feature`: adds a feature with tables, settings, routes and a page of its own to the service of an application.
 *
 * @example
 * ```ts
 * import { troupe } from 'troupe'
 * import { bookmarks } from './bookmarks.ts' // a value that defineFeature made
 *
 * export default troupe({ type: 'urn:actingweb:example.com:notes', features: [bookmarks] })
 * ```
 */
export { defineFeature } from './app-feature/define.ts'
export type {
  AppFeature,
  FeatureDefinition,
  FeatureMember,
  FeatureMigration,
  FeaturePage,
  FeatureQuota,
  FeatureService,
  FeatureStore,
  FeatureTable,
} from './app-feature/definition.ts'
export { optionKinds } from './config/option.ts'
export { fieldKinds } from './json/fields.ts'
export type { LocalText } from './pages/languages/local-text.ts'
