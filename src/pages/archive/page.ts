/** Imports an archive into the actor. */
import type { PageGroup } from '../shared/page-group.ts'
import { importPage } from './view.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { changeImport, importForm, type ImportPageDeps, showImport } from './import-page.ts'

function importPageRoutes(deps: ImportPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'importPage',
      method: 'GET',
      path: '/:actor/www/import',
      access: 'www',
      summary: 'A form to import an archive, and what the last import did',
      responses: pageResponses,
      handler: (exchange) => showImport(deps, exchange),
    }),
    defineRoute({
      id: 'importForm',
      method: 'POST',
      path: '/:actor/www/import',
      access: 'www',
      summary:
        'Imports the archive of a multipart form, whose first field is `csrf_token`, or stops the import (`stop`)',
      request: importForm,
      responses: { ...formResponses, ...errorResponses(507) },
      handler: (exchange) => changeImport(deps, exchange),
    }),
  ]
}

export const archive = {
  pages: [{ name: 'import', template: 'aw-actor-www-import.html', view: importPage }],
  routes: importPageRoutes,
} as const satisfies PageGroup
