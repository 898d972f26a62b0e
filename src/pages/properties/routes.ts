/** Routes of `/<actor>/www/properties`: the pages of values and lists, and their forms. */
import { changeItem, changeProperty, changeTexts, createProperty, deleteProperty } from './property-forms.ts'
import { listingQuery } from './listing.ts'
import { useSelection } from './selection.ts'
import { type PropertyPageDeps, propertyQuery, showProperties, showProperty } from './property-pages.ts'
import type { Params } from '../../http/edge/params.ts'
import { pageForm, type RequestBody } from '../../http/dispatch/request-body.ts'
import { defineRoute, withStoredNames } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'

/** A link that represents DELETE sends the fields in its query. */
const versionForm: RequestBody<Params> = {
  ...pageForm('version'),
  read: async (sent) => (sent.request.method === 'POST' ? pageForm().read(sent) : sent.query),
}

export function propertyPageRoutes(deps: PropertyPageDeps): readonly Route[] {
  return withStoredNames(deps.properties, [...collectionRoutes(deps), ...propertyRoutes(deps), ...listRoutes(deps)])
}

function collectionRoutes(deps: PropertyPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'propertiesPage',
      method: 'GET',
      path: '/:actor/www/properties',
      access: 'www',
      summary: 'The properties of the actor',
      query: listingQuery,
      responses: pageResponses,
      handler: (exchange) => showProperties(deps, exchange),
    }),
    defineRoute({
      id: 'createPropertyForm',
      method: 'POST',
      path: '/:actor/www/properties',
      access: 'www',
      summary: 'Creates a property or a list, or sets a property',
      query: listingQuery,
      request: pageForm(
        'property_name',
        'property_value',
        'property_value_number',
        'property_value_boolean',
        'property_type',
        'value_type',
        'description',
        'explanation',
      ),
      responses: formResponses,
      handler: (exchange) => createProperty(deps, exchange),
    }),
    defineRoute({
      id: 'selectionForm',
      method: 'POST',
      path: '/:actor/www/selection',
      access: 'www',
      summary: 'Exports the selected properties, or deletes them after a confirmation',
      query: listingQuery,
      request: pageForm('action'),
      responses: { 200: 'The properties as JSON, or the page that asks for a confirmation', ...formResponses },
      handler: (exchange) => useSelection(deps, exchange),
    }),
  ]
}

function propertyRoutes(deps: PropertyPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'propertyPage',
      method: 'GET',
      path: '/:actor/www/properties/:name',
      access: 'www',
      summary: 'A property or a list',
      query: propertyQuery,
      responses: pageResponses,
      handler: (exchange) => showProperty(deps, exchange),
    }),
    defineRoute({
      id: 'propertyForm',
      method: 'POST',
      path: '/:actor/www/properties/:name',
      access: 'www',
      summary: 'Sets the property',
      query: propertyQuery,
      request: pageForm('value', 'value_number', 'value_boolean', 'value_type'),
      responses: formResponses,
      handler: (exchange) => changeProperty(deps, exchange),
    }),
    defineRoute({
      id: 'deletePropertyForm',
      method: 'DELETE',
      path: '/:actor/www/properties/:name',
      access: 'www',
      summary: 'Deletes the property or the list; forms send `_method`',
      query: propertyQuery,
      request: versionForm,
      responses: formResponses,
      handler: (exchange) => deleteProperty(deps, exchange),
    }),
  ]
}

function listRoutes(deps: PropertyPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'itemForm',
      method: 'POST',
      path: '/:actor/www/properties/:name/items',
      access: 'www',
      summary: 'Adds one or several items, or changes, moves or deletes an item of the list',
      query: propertyQuery,
      request: pageForm(
        'action',
        'item_value',
        'item_value_number',
        'item_value_boolean',
        'items',
        'value_type',
        'item_index',
        'item_handle',
        'position',
        'to',
      ),
      responses: formResponses,
      handler: (exchange) => changeItem(deps, exchange),
    }),
    defineRoute({
      id: 'listTextsForm',
      method: 'POST',
      path: '/:actor/www/properties/:name/metadata',
      access: 'www',
      summary: 'Changes what the list says about itself',
      query: propertyQuery,
      request: pageForm('action', 'description', 'explanation'),
      responses: formResponses,
      handler: (exchange) => changeTexts(deps, exchange),
    }),
  ]
}
