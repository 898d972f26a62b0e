/** The history of changes, and the forms that take changes back. */
import type { PageGroup } from '../shared/page-group.ts'
import { historyPage } from './view.ts'
import { undoPage } from './undo-view.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { type HistoryPageDeps, historyQuery, showHistory } from './history-page.ts'
import { deleteShownHistory, previewUndo, undoChanges, undoQuery } from './undo-page.ts'

function historyPageRoutes(deps: HistoryPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'historyPage',
      method: 'GET',
      path: '/:actor/www/history',
      access: 'www',
      summary: 'What changes replaced, the latest first',
      query: historyQuery,
      responses: { ...pageResponses, ...errorResponses(400) },
      handler: (exchange) => showHistory(deps, exchange),
    }),
    defineRoute({
      id: 'historyForm',
      method: 'POST',
      path: '/:actor/www/history',
      access: 'www',
      summary: 'Deletes the history of all properties or of one',
      request: pageForm('action', 'name'),
      responses: formResponses,
      handler: (exchange) => deleteShownHistory(deps, exchange),
    }),
    defineRoute({
      id: 'undoPage',
      method: 'GET',
      path: '/:actor/www/history/undo',
      access: 'www',
      summary: 'What an undo would change, and what others have changed since',
      query: undoQuery,
      responses: { ...pageResponses, ...errorResponses(400) },
      handler: (exchange) => previewUndo(deps, exchange),
    }),
    defineRoute({
      id: 'undoForm',
      method: 'POST',
      path: '/:actor/www/history/undo',
      access: 'www',
      summary: 'Takes changes back',
      query: historyQuery,
      request: pageForm('id', 'request_id', 'name', 'caller', 'caller_kind', 'since'),
      responses: formResponses,
      handler: (exchange) => undoChanges(deps, exchange),
    }),
  ]
}

export const history = {
  pages: [
    { name: 'history', template: 'aw-actor-www-history.html', view: historyPage },
    { name: 'undo', template: 'aw-actor-www-undo.html', view: undoPage },
  ],
  routes: historyPageRoutes,
} as const satisfies PageGroup
