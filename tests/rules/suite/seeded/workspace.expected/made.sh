#!/bin/sh
echo made
