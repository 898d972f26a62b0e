/** `/assets`: the files of the pages. */
import type { Config } from '../../config/options.ts'
import { ServiceError } from '../../errors.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Exchange, Route } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'
import { cachedFile, fileResponse, revalidated } from '../../http/edge/content/static-files.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { assets } from '../all-pages.ts'
import type { Languages } from '../languages/languages.ts'
import { findAsset } from '../shared/assets.ts'
import { clientScript } from './client-script.ts'

export interface AssetRouteDeps {
  readonly languages: Pick<Languages, 'ownAssets'>
  readonly config: Pick<Config, 'singlePage'>
}

export function assetRoutes(deps: AssetRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'asset',
      method: 'GET',
      path: '/assets/*',
      access: 'service',
      summary: 'Files that the pages use',
      // Pages of an application add a version, so that browsers fetch a changed file.
      unknownQuery: 'ignored',
      responses: { 200: { text: 'The file', type: 'text/css' }, ...errorResponses(404) },
      handler: (exchange) => asset(deps, exchange),
    }),
  ]
}

async function asset(deps: AssetRouteDeps, { rest, request }: Exchange): Promise<HttpResponse> {
  const name = rest.join('/')
  const found = findAsset(name, [...deps.languages.ownAssets, ...assets])
  if (found !== null) return cachedFile(request, { ...found.asset, body: found.asset.text, cache: found.cache })
  const { singlePage } = deps.config
  const own = singlePage === null ? null : await fileResponse(request, singlePage, rest)
  if (own !== null) return own
  const script = await clientScript(name)
  if (script === null) throw new ServiceError('not_found', 'Cannot find the file: it does not exist')
  // A page that the service has just delivered must not run with the script of the release before.
  return cachedFile(request, { type: 'text/javascript; charset=utf-8', body: script, cache: revalidated })
}
