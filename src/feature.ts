/**
 * `troupe/feature`: adds a feature with tables, settings, routes and a page of its own to the service of an application.
 *
 * @example
 * ```ts
 * import { troupe } from 'troupe'
 * import { defineFeature } from 'troupe/feature'
 *
 * const bookmarks = defineFeature({
 *   name: 'bookmarks',
 *   migrations: [
 *     {
 *       number: 1,
 *       name: 'initial',
 *       sql: `CREATE TABLE bookmarks (
 *         actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
 *         bookmark_id TEXT_KEY NOT NULL,
 *         url TEXT NOT NULL,
 *         PRIMARY KEY (actor_id, bookmark_id)
 *       ) STRICT`,
 *     },
 *   ],
 *   tables: [{ name: 'bookmarks', key: ['bookmark_id'] }],
 *   start: ({ store }) => ({ parts: store }),
 *   routes: (route, store) => [
 *     route({
 *       id: 'listBookmarks',
 *       method: 'GET',
 *       path: '/bookmarks',
 *       summary: 'The bookmarks of the actor',
 *       responses: { 200: 'The bookmarks' },
 *       handler: async ({ actor }) => ({
 *         bookmarks: await store().read((q) => q.all('SELECT url FROM bookmarks WHERE actor_id = $1', actor.id)),
 *       }),
 *     }),
 *   ],
 * })
 *
 * export default troupe({ type: 'urn:actingweb:example.com:notes', features: [bookmarks] })
 * ```
 */
// Features add members to the handle of an actor.
import './handles.ts'
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
