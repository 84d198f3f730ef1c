.PHONY: run test
