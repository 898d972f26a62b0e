/** The settings of an actor and of the browser that shows its pages. */
import type { PageGroup } from '../shared/page-group.ts'
import { settingsPage } from './view.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'
import { changeSettings } from './settings-forms.ts'
import { type SettingsPageDeps, showSettings } from './settings-page.ts'

function settingsPageRoutes(deps: SettingsPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'settingsPage',
      method: 'GET',
      path: '/:actor/www/settings',
      access: 'www',
      summary: 'Name, appearance, sign-in and deletion of the actor',
      responses: pageResponses,
      handler: (exchange) => showSettings(deps, exchange),
    }),
    defineRoute({
      id: 'settingsForm',
      method: 'POST',
      path: '/:actor/www/settings',
      access: 'www',
      freshSignIn: 'some',
      summary:
        'Changes the name (`name`) or the appearance (`appearance`), or deletes the actor (`delete`), with the owner’s name typed as `confirmation`',
      request: pageForm('action', 'display_name', 'version', 'language', 'theme', 'time_zone', 'confirmation'),
      responses: formResponses,
      handler: (exchange) => changeSettings(deps, exchange),
    }),
  ]
}

export const settings = {
  section: { path: '/settings', label: 'settings', icon: 'settings' },
  pages: [{ name: 'settings', template: 'aw-actor-www-settings.html', view: settingsPage }],
  routes: settingsPageRoutes,
} as const satisfies PageGroup
