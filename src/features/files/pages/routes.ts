/** Routes of `/<actor>/www/files`, the page of files. */
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import type { Route } from '../../../http/dispatch/route.ts'
import { errorResponses, formResponses, pageResponses } from '../../../http/dispatch/schemas.ts'
import { changeFiles, type FilePageDeps, fileForm, filesQuery, showFiles } from './file-pages.ts'

export function filePageRoutes(deps: () => FilePageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'filesPage',
      method: 'GET',
      path: '/:actor/www/files',
      access: 'www',
      summary: 'The files of the actor, with forms to store and delete one',
      query: filesQuery,
      responses: pageResponses,
      handler: (exchange) => showFiles(deps(), exchange, exchange.query),
    }),
    defineRoute({
      id: 'filesForm',
      method: 'POST',
      path: '/:actor/www/files',
      access: 'www',
      summary: 'Stores the file of a multipart form, whose first field is `csrf_token`, or deletes one (`delete`)',
      request: fileForm,
      responses: { ...formResponses, ...errorResponses(507) },
      handler: (exchange) => changeFiles(deps(), exchange),
    }),
  ]
}
